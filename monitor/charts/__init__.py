"""Frames in, Altair charts out: pure functions, one file per question. No Streamlit, no clock, no theme."""
