"""The parts of scripts/torture."""
