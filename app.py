"""The dashboard: ``streamlit run app.py``. The frame is in ``monitor/show/shell.py``, the pages in ``pages/``."""

from monitor.show import shell

shell.run()
