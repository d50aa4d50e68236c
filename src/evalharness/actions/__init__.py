"""What a user can do, one file each."""
