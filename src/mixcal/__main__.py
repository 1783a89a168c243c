"""`python -m mixcal`."""

import sys

from mixcal.cli import main

sys.exit(main())
