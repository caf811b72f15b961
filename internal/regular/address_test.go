package regular

import (
	"errors"
	"io/fs"
	"testing"
)

func TestAddressesAreNoPaths(t *testing.T) {
	for path, local := range map[string]string{"s3://bucket/shards": "", "gs://b": "", "https://example.org/a.csv": "",
		"file:///data/a.csv": "/data/a.csv", "file://a.csv": "", "git+ssh://x": ""} {
		var e *AddressError
		if err := CheckPath(path); !errors.As(err, &e) || e.Local() != local || !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v, local %q", path, err, e.Local())
		}
		if _, err := Open(path); !errors.As(err, &e) {
			t.Errorf("open %s: %v", path, err)
		}
	}
	for _, path := range []string{"", "shards", "s3:/b", "a/s3://b", "c://x", "//host/share", "1a://b", "."} {
		if err := CheckPath(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}
