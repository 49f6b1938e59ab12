"""The paper's experiments again, with its baselines and with nullproof."""
