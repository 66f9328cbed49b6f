// A letter presses the button that shows it; in a text field letters are letters, and Enter gives the part in it.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const typing = event.target.matches("input:not([type=checkbox]), select, textarea");
  const part = event.key === "Enter" && event.target.matches("input[name^=ended-]");
  if (typing && !part) return;
  const button = document.querySelector(`button[data-key="${part ? "p" : CSS.escape(event.key.toLowerCase())}"]`);
  if (part) event.preventDefault();
  if (button) button.click();
});
