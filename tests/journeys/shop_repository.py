"""A small git repository for journeys: a package with tests, and hints in several directories.

`round_price` rounds half to even, which is wrong for prices; two other files work around it, so
that mending it fails one test after another.
"""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

RUN_TESTS = "python3 -m unittest -q"
FILES = {
    "AGENTS.md": "Commit messages are one line in the imperative.\n",
    "README.md": "# shop\n\nPrices, orders and invoices.\n",
    "shop/__init__.py": "",
    "shop/pricing/__init__.py": "",
    "shop/pricing/AGENTS.md": "Prices are Decimals, never floats.\n",
    "shop/pricing/rounding.py": '''\
"""Rounding of prices."""

from decimal import ROUND_HALF_EVEN, Decimal

CENT = Decimal("0.01")


def round_price(price: Decimal) -> Decimal:
    return price.quantize(CENT, ROUND_HALF_EVEN)
''',
    "shop/orders/__init__.py": "",
    "shop/orders/AGENTS.md": "An order never changes; make a new one.\n",
    "shop/orders/order.py": '''\
"""Orders and their totals."""

from dataclasses import dataclass
from decimal import Decimal

from shop.pricing.rounding import round_price


@dataclass(frozen=True)
class Order:
    prices: tuple[Decimal, ...]

    def total(self) -> Decimal:
        return round_price(sum(self.prices, Decimal(0)) + Decimal("0.001"))
''',
    "shop/invoices/__init__.py": "",
    "shop/invoices/AGENTS.md": "Invoices are plain text, 40 characters wide.\n",
    "shop/invoices/invoice.py": '''\
"""Invoices as text."""

from shop.orders.order import Order


def write_invoice(order: Order) -> str:
    total = f"{float(order.total()):.1f}0"
    return f"Total{total:>35}"
''',
    "tests/__init__.py": "",
    "tests/test_shop.py": """\
import unittest
from decimal import Decimal

from shop.invoices.invoice import write_invoice
from shop.orders.order import Order


class ShopTest(unittest.TestCase):
    def test_an_invoice_has_a_total(self):
        order = Order((Decimal("1.20"), Decimal("2.30")))
        self.assertEqual(write_invoice(order), "Total" + "3.50".rjust(35))
""",
    ".gitignore": "__pycache__/\n",
}


@dataclass(frozen=True, slots=True)
class Repository:
    """A working tree under git."""

    root: Path

    def git(self, *arguments: str) -> str:
        """Run git and return its output."""
        command = ["git", "-C", str(self.root), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def read(self, path: str) -> str:
        """Return the text of a file."""
        return (self.root / path).read_text(encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        """Write a file, as the user does in an editor."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def passes_tests(self) -> bool:
        """Run the tests of the repository, without the agent."""
        command = [sys.executable, *RUN_TESTS.split()[1:]]
        return (
            subprocess.run(command, check=False, cwd=self.root, capture_output=True).returncode == 0
        )

    @property
    def commits(self) -> list[str]:
        """The subjects of all commits, oldest first."""
        return self.git("log", "--reverse", "--format=%s").splitlines()


def create_shop(root: Path) -> Repository:
    """Create the repository of the shop with one commit."""
    return create_repository(root, FILES, "Begin the shop")


def create_repository(root: Path, files: Mapping[str, str], subject: str) -> Repository:
    """Create a repository with one commit that holds the files, by path."""
    repository = Repository(root)
    for path, text in files.items():
        repository.write(path, text)
    repository.git("init", "-q", "-b", "main")
    repository.git("config", "user.name", "Test")
    repository.git("config", "user.email", "test@example.org")
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", subject)
    return repository
