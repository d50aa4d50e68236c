"""Which addresses no notice is sent to. Nothing is sent here."""

from __future__ import annotations

import pytest

from evalharness.steps.send_notifications import is_link_local


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "fe80::1", "fe80::1%eth0"]
)
def test_a_link_local_address_is_known_in_every_notation(address: str) -> None:
    assert is_link_local(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "ci.example"])
def test_other_addresses_and_names_are_not_link_local(address: str) -> None:
    assert not is_link_local(address)
