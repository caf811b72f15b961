package train

import (
	"testing"

	"hgld/internal/testing/ramdisk"
	"hgld/train/collective"
)

func TestMain(m *testing.M) {
	ramdisk.Use()
	collective.LeastBucket = 100 // several of the small networks of tests
	m.Run()
}
