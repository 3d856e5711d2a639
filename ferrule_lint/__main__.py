"""`python -m ferrule_lint` is `ferrule-lint`."""

from ferrule_lint.cli.main import main

if __name__ == "__main__":
    main()
