import gzip

import pytest


@pytest.fixture(params=["", ".gz"], ids=["plain", "gz"])
def write(tmp_path, request):
    """A function that writes a file, in both cases by the name it is given."""

    def write(name, content):
        data = content if isinstance(content, bytes) else content.encode()
        path = tmp_path / (name + request.param)
        path.write_bytes(gzip.compress(data) if request.param else data)
        return path

    return write
