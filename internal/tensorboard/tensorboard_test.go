package tensorboard

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// The records that TensorBoard's own RecordWriter (2.21) makes of the version, of a session that
// starts at step 3, and of loss = 0.5 in that step, all at 1,700,000,000 s.
const session = "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d" +
	"0f000000000000006d532b090900000040fc54d94110033a020801c78f2cbc" +
	"1a00000000000000129bd82d0900000040fc54d94110032a0d0a0b0a046c6f7373150000003f35f132ef"

func TestEventsEqualThoseOfTensorBoard(t *testing.T) {
	dir := t.TempDir()
	at := time.Unix(1_700_000_000, 0)
	w := must.Get(Create(dir, 2, at))(t)
	must.Do(t, w.Add(at, 3, Scalar{"loss", 0.5}))
	must.Do(t, w.Close())
	data, err := os.ReadFile(filepath.Join(dir, filePrefix+"000000"))
	if got := hex.EncodeToString(data); err != nil || got != session {
		t.Errorf("%v\n%s, want\n%s", err, got, session)
	}
}

func TestFilesOfSessionsAreInOrder(t *testing.T) {
	dir := t.TempDir()
	for range 12 {
		w := must.Get(Create(dir, 0, time.Unix(5, 0)))(t)
		must.Do(t, w.Close())
	}
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(list) != 12 || filepath.Base(list[11]) != filePrefix+"000011" {
		t.Errorf("files %v, %v", list, err)
	}
}
