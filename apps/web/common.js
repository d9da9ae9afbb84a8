"use strict";
// What all pages use: elements, and requests with the key that the server may ask for, which lasts as long as the tab.

const $ = (id) => document.getElementById(id);

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function svg(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Asks again when the network fails: nothing here changes what the server has.
async function ask(path, options = {}) {
  const key = sessionStorage.getItem("api-key");
  const headers = key ? { "X-API-Key": key } : {};
  for (let tries = 3; ; --tries) {
    try {
      return await fetch(path, { ...options, headers });
    } catch (error) {
      if (tries === 1) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

const asksForKey = (response) => response.status === 401 || response.status === 403;

function showHealth(good, text) {
  if ($("health").textContent === text) return;
  $("health").className = `health ${good ? "good" : "bad"}`;
  $("health").textContent = text;
}
