//go:build browser

package browsertest

import (
	"os"
	"testing"

	"hgld/internal/testing/browser"
)

func TestMain(m *testing.M) { os.Exit(browser.Main(m)) }
