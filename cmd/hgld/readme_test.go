package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/goldens"
	"hgld/train/loss"
)

// The README's tables are those of the code: a loss that is added brings its row.
func TestReadmeListsEveryLoss(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(goldens.Root(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range loss.All {
		if row := fmt.Sprintf("| `%s` | %s |", e.Name, e.About); !strings.Contains(string(data), row) {
			t.Errorf("the README has no row %s", row)
		}
	}
}
