"""`python -m shlo_disc`."""

from shlo_disc.cli.main import run

if __name__ == "__main__":
    run()
