//go:build nvidia

package nccl

import (
	"os"
	"testing"
)

// TestRealNCCL opens NVIDIA's library, which HGLD_TEST_NCCL names. It makes an ID, and refuses to join a group without
// a card.
func TestRealNCCL(t *testing.T) {
	path, want := os.Getenv("HGLD_TEST_NCCL"), os.Getenv("HGLD_TEST_NCCL_VERSION")
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
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
	} else if e, is := err.(*Error); !is || e.Call != "ncclCommInitRank" || e.Code != 1 || e.Text == "" {
		t.Errorf("without a card: %v, want NCCL's error 1, of CUDA", err)
	}
}
