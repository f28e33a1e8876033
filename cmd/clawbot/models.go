package main

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"clawbot/agentcore"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/providers"
	"clawbot/providers/openai"
)

// models makes the models that people may choose for their conversation, each
// once: the chosen one first, and the others as its stand-ins.
type models struct {
	cfg    *config.Config
	meters meters
	log    *slog.Logger

	mu   sync.Mutex
	made map[string]agentcore.Model
}

// refs lists the models, the default first.
func (m *models) refs() []string {
	var refs []string
	for _, ref := range slices.Concat([]string{m.cfg.Agent.Model}, m.cfg.Agent.Fallbacks, m.cfg.Agent.Models) {
		if ref != "" && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

func (m *models) get(ref string) (agentcore.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if model, ok := m.made[ref]; ok {
		return model, nil
	}
	cfg := *m.cfg
	cfg.Agent.Model = ref
	cfg.Agent.Fallbacks = slices.DeleteFunc(
		slices.Concat([]string{m.cfg.Agent.Model}, m.cfg.Agent.Fallbacks), func(other string) bool { return other == ref || other == "" })
	model, err := newModel(&cfg, m.meters, m.log)
	if err != nil {
		return nil, err
	}
	if m.made == nil {
		m.made = map[string]agentcore.Model{}
	}
	m.made[ref] = model
	return model, nil
}

// newTranscriber makes what turns speech into text; nil if that is not
// configured.
func newTranscriber(cfg *config.Config, m meters, log *slog.Logger) (gateway.Transcriber, error) {
	if cfg.Audio.Transcribe == "" {
		return nil, nil
	}
	settings, model, err := providerConfig(cfg, cfg.Audio.Transcribe, log)
	if err != nil {
		return nil, err
	}
	t, err := openai.NewTranscriber(settings, model)
	if err != nil {
		return nil, fmt.Errorf("audio.transcribe: %w", err)
	}
	name, _, _ := config.ModelRef(cfg.Audio.Transcribe)
	return m.budget.Transcriber(t, agentcore.ModelRef{Provider: name, Format: providers.FormatTranscription, ID: model}, speechPrice(cfg)), nil
}

// speechPrice is what a minute of speech costs in US dollars; nil if that is
// not known.
func speechPrice(cfg *config.Config) *float64 {
	if cfg.Audio.USDPerMinute != nil {
		return cfg.Audio.USDPerMinute
	}
	name, model, err := config.ModelRef(cfg.Audio.Transcribe)
	if err != nil {
		return nil
	}
	return providers.SpeechPrice(cfg.Providers[name].BaseURL, model)
}
