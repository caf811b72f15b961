//go:build nvidia

package nccl

import (
	"os"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// TestRealNCCL opens NVIDIA's library, which HGLD_TEST_NCCL names. It makes an ID, and refuses to join a group without
// a GPU.
func TestRealNCCL(t *testing.T) {
	path, want := os.Getenv("HGLD_TEST_NCCL"), os.Getenv("HGLD_TEST_NCCL_VERSION")
	l := must.Get(Open(path))(t)
	if l.Version.String() != want {
		t.Errorf("NCCL %v, want %s", l.Version, want)
	}
	id, err := l.NewID()
	other, failed := l.NewID()
	if err != nil || failed != nil || id == other || id == (ID{}) {
		t.Errorf("two IDs: %x, %v and %x, %v", id, err, other, failed)
	}
	c, err := l.Join(0, 1, id)
	t.Logf("NCCL %v: joining a group gives %v", l.Version, err)
	if err == nil {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	} else if !strings.HasPrefix(err.Error(), "nccl: ncclCommInitRank: ") || !strings.Contains(err.Error(), " (1)") {
		t.Errorf("without a GPU: %v, want NCCL's error 1, of CUDA", err)
	}
}
