"""The systems that are timed: one file each, or one for two ways to run the same system."""
