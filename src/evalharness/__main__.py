"""`python -m evalharness` is `eval-harness`."""

from evalharness.cli.main import main

main()
