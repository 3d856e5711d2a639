"""FER303 by playing a function through: every rank of a few small worlds, and who meets whom."""
