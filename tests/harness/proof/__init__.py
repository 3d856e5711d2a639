"""The proof of the rule book: examples of the rule pages and of `examples/`, run on ranks.

`scenes` holds, for each function that the examples define, how it is called, with which inputs; `doubles` stands in for
libraries that are not installed and for what a CPU lacks.
"""
