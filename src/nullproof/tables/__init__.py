"""From files and data frames to coded columns, and back."""
