// Package google speaks Gemini's generateContent, streaming
// (https://ai.google.dev/api/generate-content), to Google itself, to Vertex AI
// and to servers that imitate them.
package google
