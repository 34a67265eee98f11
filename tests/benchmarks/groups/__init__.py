"""What is measured, group by group: each yields figures of one agent, as it comes to them."""
