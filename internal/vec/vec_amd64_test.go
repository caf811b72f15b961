package vec

import "testing"

// The loops with AVX2 pass the tests of those with AVX-512, which they stand in for.
func TestAVX2(t *testing.T) {
	defer func(before bool) { wide = before }(wide)
	wide = false
	for _, test := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"bytes", TestVectorsGiveTheBytesOfTheLoopAndWriteNothingElse},
		{"definitions", TestElementsFollowTheirDefinitions},
		{"exponential", TestExpOverAllSizes},
		{"GELU", TestGELUOverAllSizes},
		{"sum", TestExpSubSumsInLanes},
	} {
		t.Run(test.name, test.run)
	}
}
