"""Two runs, paired case by case, to a verdict about their difference."""
