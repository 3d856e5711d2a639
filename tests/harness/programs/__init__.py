"""Small programs for several ranks: `bugs` diverge, `healthy` ones only look as if they might.

In a bug, the line that parts the ranks is marked `# cause`; if there is none, the values differ at the line marked
`# site`.
"""
