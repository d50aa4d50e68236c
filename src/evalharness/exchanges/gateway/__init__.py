"""The gateway: a proxy of models on this machine, through which agents in any language ask theirs."""
