package loss

import (
	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss/definition"
)

// ArcFace is the loss of Deng et al., "ArcFace: Additive Angular Margin Loss for Deep Face
// Recognition", CVPR 2019. It is NSM with temperature 1/S, with M added to the angle θ between a
// query and the proxy of its class:
//
//	L = 1/Q Σ_q −log(e^(S·φ) / (e^(S·φ) + Σ_{c≠own} e^(S·cos θ_c)))
//	φ = cos(θ + M) up to θ = π − M, cos θ − M·sin M beyond
//
// With EasyMargin, φ is cos(θ + M) up to θ = π/2 and cos θ beyond. Query is [Q, D]. Its rows and
// the proxies are normalised inside the loss. M is 0.3 in the released configurations for SOP and
// GLDv2.
//
// Smoothing ε follows SupRank's code. It smooths the one-hot vector h that mixes φ and cos θ, and
// leaves the target of the cross-entropy unchanged. With C classes:
//
//	L = 1/Q Σ_q −log softmax(S·(h_c·φ_c + (1 − h_c)·cos θ_c))[class of q]
//	h_own = 1 − ε + ε/C, h_c = ε/C for the others
//
// ε is in [0, 1); 0 gives the first formula. No published result that we reproduce uses another
// value.
//
// A query without a label at Level contributes 0; the mean is over all Q queries.
type ArcFace struct {
	S          float64 `yaml:"s"`           // inverse temperature
	M          float64 `yaml:"m"`           // margin, in radians
	EasyMargin bool    `yaml:"easy_margin"` // φ = cos θ where θ > π/2
	Smoothing  float64 `yaml:"ls_eps"`      // ε, from 0 to below 1
	Level      int     `yaml:"level"`       // the level whose classes have proxies; 0 is the finest
}

var arcFaceEntry = Row{
	Name: "arcface", About: "ArcFace (CVPR 2019): softmax over proxies with an angular margin",
	Source:   "Deng et al., ArcFace, CVPR 2019; as in SupRank",
	Value:    ArcFace{S: 30, M: 0.5},
	Rounding: Rounding{2.3e-7, 1.3e-6},
}

// New makes the loss, with a proxy for each class.
func (l ArcFace) New(f Facts) (Loss, error) {
	return newProxied(f, proxied{
		pairs: device.Pairs{
			Kind: device.Angular, PosScale: float32(l.S), PosMargin: float32(l.M), Easy: l.EasyMargin,
			Smoothing: float32(l.Smoothing),
		},
		level: l.Level, normalise: true,
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l ArcFace) Define(*definition.Batch) definition.Definition {
	return definition.Proxied{Level: l.Level, Pairs: reference.Pairs{Kind: device.Angular, PosScale: l.S, PosMargin: l.M,
		Easy: l.EasyMargin, Smoothing: l.Smoothing}}
}

// ByRows is true: each query is compared only with the proxies.
func (ArcFace) ByRows() bool { return true }
