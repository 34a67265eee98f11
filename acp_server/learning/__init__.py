"""Learning between turns: conversation reviews, the skill curator, and their schedules."""
