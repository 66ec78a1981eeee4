"""`python -m rltpf`, the same as the `rltpf` command."""

import sys

from rltpf.cli import main

sys.exit(main())
