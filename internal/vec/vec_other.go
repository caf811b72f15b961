//go:build !amd64

package vec

func expSubFast(dst, x []float32, top float32, s *[8]float64) bool { return false }

func axpbyFast(dst []float32, a float32, x []float32, b float32, y []float32) int { return 0 }
func scaleFast(dst []float32, a float32, x []float32) int                         { return 0 }
func scaleWideFast(dst []float32, a float64, x []float32) int                     { return 0 }
func reluFast(dst, x []float32) int                                               { return 0 }
func maskFast(dst, d, x []float32) int                                            { return 0 }
func maximumFast(dst, x []float32) int                                            { return 0 }
func routeFast(dst, rest, x, best []float32) int                                  { return 0 }
func nonFiniteFast(x []float32) (n, count int)                                    { return 0, 0 }

func columnSumsFast(sum []float64, x []float32, rows, stride int, squares bool) int { return 0 }
func columnMomentsFast(sum, squares []float64, shift, x []float32) int              { return 0 }
func affineFast(dst, x, residual, mean, scale, shift []float32, rectify bool) int   { return 0 }
func normSumsFast(along, sum []float64, kept, dy, x, y, mean []float32) int         { return 0 }
func normBackFast(dx, dy, x, y, mean, scale, along, offset []float32) int           { return 0 }

func sumFast(x []float32, s *lanes) int                               { return 0 }
func dotFast(x, y []float32, s *lanes) int                            { return 0 }
func spreadFast(x []float32, mean float64, s *lanes) int              { return 0 }
func layerRowFast(dst, x, gamma, beta []float32, mean, r float64) int { return 0 }
func layerSumsFast(dgamma, dbeta []float64, dy, x, gamma []float32, mean, r float64, s, a *[8]float64) int {
	return 0
}
func layerBackFast(dx, dy, x, gamma []float32, mean, r, sum, along float64) int { return 0 }

func geluFast(dst, x []float32) int                      { return 0 }
func geluGradFast(dx, dy, x []float32) int               { return 0 }
func gateFast(dst, x []float32, a, b float64) int        { return 0 }
func gateGradFast(dx, dy, x []float32, a, b float64) int { return 0 }

func adamFast(w, m, v, dw []float32, o *AdamStep) int { return 0 }
func sgdFast(w, m, dw []float32, o *SGDStep) int      { return 0 }
func approachFast(dst, x []float32, rate float64) int { return 0 }

func powerSumsFast(sum, along []float64, x []float32, p, eps float64) int { return 0 }
func powerScaleFast(dst, x []float32, k []float64, q, eps float64) int    { return 0 }

func headDotsFast(dst, q, k []float32, size int) bool { return false }
func headMixFast(dst, p, v []float32, size int) bool  { return false }

func bucketsFast(dst []uint32, x []float32, o *Buckets) int { return 0 }

func countAboveFast(x []float32, t float32) (n, above, equal int) { return 0, 0, 0 }

func expScaledFast(dst, x []float32, top, scale float64, s *[8]float64) int { return 0 }
