package pipeline

import (
	"errors"
	"os"
	"testing"

	"hgld/internal/testing/must"
)

func TestNewFoldersAreNotCalledHome(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.MkdirAll("there/~", 0o755))
	for path, refused := range map[string]bool{
		"~/shards": true, "project/~/eval.json": true, "~": true,
		"there/~/shards": false, "~user/shards": false, "a~": false, "s3://bucket/~/shards": false, "": false,
	} {
		if err := CheckHome("run", path); errors.As(err, new(*LiteralTildeError)) != refused || !refused && err != nil {
			t.Errorf("%q: error %v, want a refusal: %t", path, err, refused)
		}
	}
}
