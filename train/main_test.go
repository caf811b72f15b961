package train

import (
	"testing"

	"hgld/internal/testing/ramdisk"
)

func TestMain(m *testing.M) {
	ramdisk.Use()
	leastBucket = 100 // several of the small networks of tests
	m.Run()
}
