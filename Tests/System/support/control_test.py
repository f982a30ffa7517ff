"""What tests of the control socket share."""

from support.control_client import Refusal
from support.system_test import SystemTest


class ControlTest(SystemTest):
    def refused(self, name: str, client, method: str, **parameters) -> dict:
        """Makes a call that must fail, and returns the parameters of the error."""
        with self.assertRaises(Refusal) as caught:
            client.call(method, **parameters)
        self.assertEqual(caught.exception.name, name, caught.exception)
        return caught.exception.parameters
