"""Small programs for several ranks: `bugs` diverge, `healthy` ones only look as if they might.

In a bug, the line that parts the ranks, or makes the value in which they differ, is marked `# cause`; the call at which
it shows, where that says more, `# site`.
"""
