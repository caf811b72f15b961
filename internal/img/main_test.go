package img

import "testing"

func TestMain(m *testing.M) {
	if !ServeAsChild() {
		m.Run()
	}
}
