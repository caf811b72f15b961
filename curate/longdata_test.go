package curate

import (
	"testing"

	"hgld/internal/testing/longdata"
)

func TestLogErrorsQuoteBoundedText(t *testing.T) {
	_, data := newLog(t, 2)
	longdata.Replace(t, data, func(data []byte) error {
		_, err := parseLog("edits.jsonl", data)
		return err
	})
}
