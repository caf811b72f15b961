package tensorfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/longdata"
)

func TestErrorsQuoteLittleOfAHeader(t *testing.T) {
	t.Run("safetensors", func(t *testing.T) {
		header := `{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`
		longdata.Replace(t, []byte(header), func(header []byte) error {
			file := raw(string(header), 8)
			f, err := ReadSafetensors(bytes.NewReader(file), int64(len(file)))
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.Float32("a")
			return err
		})
	})
	t.Run("npy", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.npy")
		longdata.Replace(t, []byte(dict("'<f4'", "False", "(2,)")), func(header []byte) error {
			file := npyFile(string(header), 8)
			if len(header) > 1<<16 { // version 1 has 16 bits for the length
				file = append([]byte(npyMagic), 2, 0)
				file = append(append(file, raw(string(header), 0)[:4]...), header...)
				file = append(file, make([]byte, 8)...)
			}
			if err := os.WriteFile(path, file, 0o644); err != nil {
				return err
			}
			a, err := OpenNPY(path)
			if err != nil {
				return err
			}
			return a.Close()
		})
	})
}
