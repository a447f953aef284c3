"""Frames in, Altair charts out: pure functions, one file a question. No Streamlit, no clock, no theme."""
