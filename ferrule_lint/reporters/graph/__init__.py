"""Graphs of `why` as pictures: SVG with a layout of our own, and text for Graphviz and Mermaid."""
