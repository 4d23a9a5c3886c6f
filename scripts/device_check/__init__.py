"""The parts of scripts/device-check."""
