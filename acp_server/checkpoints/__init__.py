"""What files were before a turn changed them: kept outside the workspace, and found again."""
