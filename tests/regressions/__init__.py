"""Past faults as data: what came in, which question, what must come out."""
