"""What people are asked, who is asked when, and what their ratings come to."""
