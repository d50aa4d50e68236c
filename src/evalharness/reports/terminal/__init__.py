"""What people read in a terminal: one file for each thing that is shown, and the screen they share."""
