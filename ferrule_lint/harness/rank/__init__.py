"""What runs inside a rank: the recorder, the line to the supervisor, and the body around the user's code.

These modules import torch, but for `sites`, `flow` and `client`.
"""
