package shards

import (
	"testing"

	"hgld/internal/testing/ramdisk"
)

func TestMain(m *testing.M) {
	ramdisk.Use()
	m.Run()
}
