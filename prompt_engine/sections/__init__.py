"""The sections of the prompt; their prose lies beside this file in `text/*.md`."""
