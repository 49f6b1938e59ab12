"""Which cells an enemy would blank: the attack on one point, on many, and where its cells lie."""
